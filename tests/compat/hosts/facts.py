"""The facts, question and answers of the tests with frameworks."""

QUESTION = "How tall is the Eiffel Tower?"
TOWER = "The Eiffel Tower stands in Paris. It is 330 metres tall and was completed in 1889."
RIGHT = "The Eiffel Tower is 330 metres tall."
WRONG = "The Eiffel Tower is 500 metres tall."
