"""The Kafka APIs: one module each; `dispatch` has the table that leads to them."""
