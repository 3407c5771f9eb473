"""How columns of tables are read: their values, the kind that these suggest, and new rows in the same way."""
