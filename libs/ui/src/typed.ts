/** Set on a form that holds what nobody has saved: `typed`, and `sent` once the reader has sent it off. */
const MARK = 'data-unsaved';

/** From now on the browser asks before it loads or leaves the page while a form holds what was typed and not saved. */
export function guardTyped(): void {
  const mark = (value: string) => (event: Event) => {
    // What filters a list stands in the address, and a search is typed again at once.
    const form = (event.target as Element).closest('form:not(.filters, [role="search"])');
    if (value === 'typed' || form?.hasAttribute(MARK) === true) form?.setAttribute(MARK, value);
  };
  addEventListener('input', mark('typed'));
  addEventListener('submit', mark('sent'));
  addEventListener('beforeunload', (event) => {
    if (document.querySelector(`[${MARK}]`) !== null) event.preventDefault();
  });
}

/** To be called before the page is loaded again on purpose: what was typed belongs to a session that is over. */
export function forgetTyped(): void {
  for (const form of document.querySelectorAll(`[${MARK}]`)) form.removeAttribute(MARK);
}

/** To be called when something was done: a form that was sent off is saved now. */
export function forgetSent(): void {
  for (const form of document.querySelectorAll(`[${MARK}="sent"]`)) form.removeAttribute(MARK);
}
