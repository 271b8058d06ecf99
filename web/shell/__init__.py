"""Provides what all pages share: access, forms, navigation, state display."""
