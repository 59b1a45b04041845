/** Where the reader is: what follows `#` in the address. */
export interface Place {
  /** Segments of the path, decoded: `['webhooks', ID]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** The place that a fragment names; anything that is none is the start. */
export function readPlace(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split('?', 2);
  if (!path.startsWith('/')) return { path: [], query: {} };
  const segments = path.split('/').filter((part) => part !== '');
  return { path: segments.map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The fragment of a place, with its `#`. Empty members of the query are left out. */
export function fragmentOf(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value] as [string, string]] : []));
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
