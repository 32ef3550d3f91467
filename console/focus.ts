const CONTROLS = 'h1, button, a[href], input, select, textarea';

/** Keeps the focus near when what has it is removed: otherwise it moves to the top (WCAG 2.4.3). */
export function keepFocus(root: Element): void {
  let focused: readonly EventTarget[] = [];
  document.addEventListener('focusin', (event) => {
    focused = event.composedPath();
  });
  const onRemoval = () => {
    const [element, ...around] = focused as [Element?, ...Element[]];
    if (document.activeElement !== document.body || !element || element.isConnected) return;
    const left = around.find(({ isConnected }) => isConnected);
    left?.querySelector<HTMLElement>(CONTROLS)?.focus();
  };
  new MutationObserver(onRemoval).observe(root, { childList: true, subtree: true });
}
