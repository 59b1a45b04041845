/** An error answer of the operations app. */
export class OperationsRefused extends Error {
  override readonly name = 'OperationsRefused';

  /** @param message what the app, or what answered in its place, said */
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}
