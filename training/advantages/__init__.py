"""Steps from rewards to advantages: pure functions on tensors, one idea a module."""
