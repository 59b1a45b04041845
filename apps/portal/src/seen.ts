import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Brings an answer into the window when it comes: the button that asked for it may be far from it. */
export function useSeen(answer: unknown): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [answer]);
  return element;
}
