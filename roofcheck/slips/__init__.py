"""The slips of a question, and the message for those that match an answer."""
