"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const cards = Array.from(document.querySelectorAll("article.card"));
  const shown = document.getElementById("shown");
  const texts = new Map();

  // The text of a card is read when it is first searched: a page may have thousands.
  const textOf = (card) => {
    if (!texts.has(card)) texts.set(card, card.textContent.toLowerCase());
    return texts.get(card);
  };

  const matches = (card, wanted, words) =>
    wanted.every(([name, value]) => card.dataset[name] === value) &&
    words.every((word) => textOf(card).includes(word));

  const apply = () => {
    const selects = Array.from(form.querySelectorAll("select"));
    const wanted = selects.filter((each) => each.value !== "").map((each) => [each.name, each.value.slice(1)]);
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const card of cards) {
      const fits = matches(card, wanted, words);
      if (card.hidden === fits) card.hidden = !fits;
      n += fits;
    }
    shown.textContent = n === 0 ? "No example fits these filters." : `${n} of ${cards.length} examples are shown.`;
  };

  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.addEventListener("reset", () => setTimeout(apply));

  // Numbers that count a kind of row lead to the examples of that kind.
  for (const link of document.querySelectorAll("a[data-show]")) {
    link.addEventListener("click", () => {
      form.reset();
      form.elements.kind.value = "=" + link.dataset.show;
      apply();
    });
  }

  // A link to a row shows it, whatever is filtered.
  const reveal = () => {
    const card = document.getElementById(location.hash.slice(1));
    if (card && card.hidden) {
      form.reset();
      apply();
      card.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", reveal);

  // What is folded is printed as well.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll(".card:not([hidden]) details:not([open])"));
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });

  form.hidden = false;
  apply();
})();
