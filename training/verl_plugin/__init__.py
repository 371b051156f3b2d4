"""What verl needs from us, registered through its entry-point group `verl.plugins`. Only here is verl known."""
