/**
 * Paths and methods of all routes, to distinguish a wrong method (405 with Allow, RFC 9110 section 15.5.6) from an
 * unknown path.
 */
export class KnownRoutes {
  readonly #routes: { pattern: RegExp; isLiteral: boolean; methods: readonly string[] }[] = [];

  add(url: string, methods: readonly string[]): void {
    const pattern = url
      .split('/')
      .map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))
      .join('/');
    this.#routes.push({ pattern: new RegExp(`^${pattern}$`), isLiteral: !url.includes('/:'), methods });
  }

  /**
   * The methods of a path, sorted; empty for an unknown path. A literal path takes precedence over one with a
   * parameter.
   */
  methodsOf(path: string): readonly string[] {
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path));
    const literal = matching.filter(({ isLiteral }) => isLiteral);
    return [...new Set((literal.length > 0 ? literal : matching).flatMap(({ methods }) => methods))].toSorted();
  }
}

/** Path of a request target without its query, which does not belong in an answer or a log. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

/** The path for a log, without the id of a session, which is a credential. */
export const loggedPathOf = (path: string): string => path.replace(/^(\/+auth\/+session\/+)[^]*$/i, '$1…');
