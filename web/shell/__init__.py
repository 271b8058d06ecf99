"""Parts that all pages share: access, forms, navigation, state display."""
