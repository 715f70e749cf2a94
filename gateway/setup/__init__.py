"""The commands for the person who sets the gateway up and looks after it: init, pair, doctor, status."""
