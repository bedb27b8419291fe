"""Commands: one module for each `dray` verb. They parse arguments, call the packages below, and render."""
