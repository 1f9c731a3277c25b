"""Hypothesis strategies for any JSON data, with strings that readers often get wrong."""

from hypothesis import strategies as st

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=30)
long_texts = st.lists(
    st.sampled_from(
        ["It is 5.", 'A "b"\n', "é😀 \\ ", "# H\n", "| a | b |\n", "|-|-|\n", "x. Y. "]
    ),
    max_size=40,
).map("".join)
json_data = st.recursive(
    scalars | long_texts,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5)
    ),
    max_leaves=20,
).filter(lambda data: isinstance(data, (list, dict)))
