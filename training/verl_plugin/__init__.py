"""What verl needs from us, registered through its entry-point group `verl.plugins`; the only importer of verl internals."""
