"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const form = document.getElementById("filters");
  const file = document.getElementById("file");
  const only = document.getElementById("only");
  const status = document.getElementById("shown");
  const boxes = all("input[name=severity]");
  const cards = all(".card");
  const entries = all(".index > li");
  const files = all("details.file");

  const apply = () => {
    const severities = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const fits = (part) => severities.has(part.dataset.severity) && (file.value === "" || file.value === part.dataset.file);
    const counts = new Map();
    let shown = 0;
    for (const card of cards) {
      const fit = fits(card);
      (card.closest("tr.f") || card).hidden = !fit;
      if (fit) {
        shown += 1;
        counts.set(card.dataset.file, (counts.get(card.dataset.file) || 0) + 1);
      }
    }
    for (const entry of entries) entry.hidden = !fits(entry);
    for (const part of files) {
      const chosen = file.value === "" || file.value === part.dataset.file;
      part.hidden = !chosen || (only.checked && !counts.has(part.dataset.file));
      if (chosen && file.value !== "") part.open = true;
    }
    status.textContent = shown + " of " + cards.length + (cards.length === 1 ? " finding" : " findings") + " shown";
  };

  const reveal = (card) => {
    const part = card.closest("details.file");
    if (part) part.open = true;
    card.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  };

  const step = (by) => {
    const seen = cards.filter((card) => !(card.closest("tr.f") || card).hidden && !card.closest("[hidden]"));
    if (seen.length === 0) return;
    const at = seen.indexOf(document.activeElement);
    reveal(seen[at < 0 ? (by > 0 ? 0 : seen.length - 1) : (at + by + seen.length) % seen.length]);
  };

  const fromAddress = () => {
    const card = /^#finding-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (card) reveal(card);
  };

  const copy = async (button) => {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    status.textContent = "Copied";
    button.dataset.done = "";
    setTimeout(() => { delete button.dataset.done; }, 1500);
  };

  for (const button of all("button[data-copy]")) button.hidden = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
  });
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", fromAddress);
  window.addEventListener("beforeprint", () => files.forEach((part) => { part.open = true; }));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  apply();
  fromAddress();
})();
