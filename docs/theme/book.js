// The theme makes each block's copy button a landmark: give every one a name of its own.
new MutationObserver(() => {
  document.querySelectorAll("nav.md-code__nav:not([aria-label])").forEach((nav) => {
    const button = nav.querySelector("button");
    if (button) nav.setAttribute("aria-label", `${button.title} ${button.dataset.clipboardTarget?.match(/\d+/) ?? ""}`);
  });
}).observe(document, { childList: true, subtree: true });
