"""Chat completions: the request, its check, and the three ways back."""
