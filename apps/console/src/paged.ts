/** Rows of a page: more would hold the browser up. */
export const PAGE = 500;

export interface Paged<Row> {
  readonly rows: readonly Row[];
  /** How many rows are before the first. */
  readonly from: number;
  /** Where the page before begins; undefined for the first. */
  readonly earlier: number | undefined;
  /** Where the next page begins; undefined for the last. */
  readonly later: number | undefined;
}

/** @param asked where the page begins, as it stands in the address: anybody may have written it, and the list may be shorter now */
export function pageFrom<Row>(all: readonly Row[], asked: string | undefined): Paged<Row> {
  const wanted = Number(asked ?? 0);
  const from = Number.isInteger(wanted) && wanted >= 0 && wanted < all.length ? wanted : 0;
  const next = from + PAGE;
  return {
    rows: all.slice(from, next),
    from,
    earlier: from === 0 ? undefined : Math.max(0, from - PAGE),
    later: next < all.length ? next : undefined,
  };
}
