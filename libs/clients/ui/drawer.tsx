import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { cameTo, Said } from './ask.js';
import { Icon } from './icons.js';
import { closeOver } from './place.js';

/** Title of the open drawer, which the document has while the drawer is open. */
export const drawn = signal<string | undefined>(undefined);

interface DrawerProps {
  readonly title: string;
  /** Fragment of the route that the drawer covers. The browser goes there when the drawer is closed. */
  readonly below: string;
  readonly children: ComponentChildren;
}

/**
 * A panel over the page, for one entry of its list. Its route is one of its own, so Back closes it and a reload opens it
 * again. The browser keeps the focus inside, and gives it back to the link that opened the drawer.
 */
export function Drawer({ title, below, children }: DrawerProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** The browser tells the end of a dialog later, when the route may already have changed. */
  const isLeft = useRef(false);
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    cameTo();
    return () => {
      isLeft.current = true;
      drawn.value = undefined;
      shown?.close();
      // After a reload no link of the page has opened the drawer, and a list may have lost the link.
      const { activeElement: at } = document;
      if (at === document.body || shown?.contains(at) === true) document.querySelector('h1')?.focus();
    };
  }, []);
  useLayoutEffect(() => {
    drawn.value = title;
  }, [title]);
  return (
    <dialog
      ref={dialog}
      class="drawer"
      aria-labelledby="drawn"
      onClick={({ target }) => target === dialog.current && dialog.current?.close()}
      onClose={() => !isLeft.current && closeOver(below)}
    >
      <div class="drawer-body">
        <div class="drawer-head">
          <h2 id="drawn">{title}</h2>
          <button type="button" class="bare" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="cross" />
          </button>
        </div>
        <Said />
        {children}
      </div>
    </dialog>
  );
}
