import { useState } from 'preact/hooks';

/** Returns the first eight characters of an id, after the kind that a client id begins with. */
export const shortId = (id: string): string => /^(?:[a-z]+_)?.{0,8}/.exec(id)?.[0] ?? id;

/** The beginning of an id, which a click copies whole. If the browser refuses that, the whole id is shown. */
export function Id({ id }: { readonly id: string }) {
  const [isCopied, setCopied] = useState<boolean>();
  const copy = async (): Promise<void> => {
    // Browsers provide no clipboard to pages over plain HTTP.
    const done = await navigator.clipboard?.writeText(id).then(
      () => true,
      () => false,
    );
    setCopied(done ?? false);
  };
  if (isCopied === false) return <code>{id}</code>;
  const said = isCopied === true ? 'Copied' : 'Copy';
  return (
    <span class="id" title={id}>
      <code>{shortId(id)}</code>
      <button type="button" class="plain" aria-label={`${said}: id ${shortId(id)}`} onClick={() => void copy()}>
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d={isCopied === true ? 'M3 8.5 6.5 12 13 4.5' : 'M5.5 5.5h8v8h-8zM2.5 10.5v-8h8'} />
        </svg>
      </button>
    </span>
  );
}
