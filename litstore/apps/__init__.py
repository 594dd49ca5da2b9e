"""What people and programs run: each front sits on the store and knows no other front."""
