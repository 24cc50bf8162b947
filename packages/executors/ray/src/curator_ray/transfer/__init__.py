"""How plans and tasks reach workers."""
