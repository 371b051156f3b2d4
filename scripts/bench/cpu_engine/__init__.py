"""What the CPU profiles do differently inside an update and a decoding step, beside the stock way."""
