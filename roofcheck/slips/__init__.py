"""The slips of a question, and the message for those that fit an answer."""
