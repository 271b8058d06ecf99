"""Manages accounts of people: sign-in, sessions, second factor, tokens, access review."""
