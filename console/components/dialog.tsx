import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface Properties {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Escape, or a button of the dialog. */
  readonly onClose: () => void;
}

/** A modal dialog that is open as long as it is rendered, and then returns the focus. */
export function Dialog({ title, children, onClose }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const onCancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  // Chrome closes a dialog after a second Escape, even if the first one was refused.
  const onNativeClose = () => {
    if (dialog.current?.isConnected) dialog.current.showModal();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={onCancel} onClose={onNativeClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
