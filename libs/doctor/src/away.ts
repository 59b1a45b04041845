/** A store that is not configured or does not answer, with the remedy. */
export class Away extends Error {
  override readonly name = 'Away';

  constructor(
    readonly fault: string,
    readonly fix: string,
    cause?: unknown,
  ) {
    super(`${fault}: ${fix}`, { cause });
  }
}
