"""From a user's tables to clean columns: the one place where data are checked."""
