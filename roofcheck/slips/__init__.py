"""Which step went wrong: every slip of a question, and what to say of those that fit."""
