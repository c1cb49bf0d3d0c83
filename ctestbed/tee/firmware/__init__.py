"""The trusted part of each platform: its commands, its states, its launch measurement."""
