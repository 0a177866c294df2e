"""The subcommands of `sporadic`, one a file. They import what is heavy when they run."""
