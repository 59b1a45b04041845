import type { ComponentChildren } from 'preact';

export type Kind = 'good' | 'bad' | 'warn' | 'info';

interface NoticeProps {
  readonly kind: Kind;
  readonly title?: string;
  readonly children?: ComponentChildren;
}

/** A framed message. A bad one is read out at once. */
export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'note'}>
      {title !== undefined && <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** A state in one or two words, with a colour beside the words. */
export const Badge = ({ kind, children }: { readonly kind: Kind; readonly children: ComponentChildren }) => (
  <span class={`badge ${kind}`}>{children}</span>
);

/** What a page says instead of an empty list: why, and what to do. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);
