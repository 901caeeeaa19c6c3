import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api';

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  /** The way out. */
  readonly keep?: string;
  readonly tone?: 'primary' | 'danger';
  /** Does it; an error is shown and the dialog stays. */
  readonly run: () => Promise<void>;
  readonly close: () => void;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
}

/** Asks before something is done. The browser's own dialog: focus stays inside, Escape closes it. */
export function Confirm({
  title,
  action,
  keep = 'Keep as it is',
  tone = 'primary',
  run,
  close,
  disabled = false,
  children,
}: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const heading = useId();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy || disabled) return;
    setBusy(true);
    setProblem('');
    try {
      await run();
      close();
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Modal close={close} labelledBy={heading}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={heading}>{title}</h2>
        {children}
        {problem !== '' && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={close}>
            {keep}
          </button>
          <button type="submit" class={`button ${tone}`} disabled={disabled || busy}>
            {busy ? 'Working…' : action}
          </button>
        </div>
      </form>
    </Modal>
  );
}

export function Modal({
  close,
  labelledBy,
  children,
}: {
  close: () => void;
  labelledBy: string;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const onClick = (event: MouseEvent) => {
    if (event.target === dialog.current) close(); // beside the box
  };
  return (
    <dialog ref={dialog} aria-labelledby={labelledBy} onClose={close} onClick={onClick}>
      <div class="dialog-box">{children}</div>
    </dialog>
  );
}
