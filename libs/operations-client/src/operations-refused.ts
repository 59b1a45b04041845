/** An error answer of the operations app. */
export class OperationsRefused extends Error {
  override readonly name = 'OperationsRefused';

  /** @param detail what the app, or what answered in its place, said */
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(`The operations app answers ${status}: ${detail}`);
  }
}
