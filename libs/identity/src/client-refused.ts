/** A change of a client that the relay refuses; its message says why, and is the same for a command and an API. */
export class ClientRefused extends Error {
  override readonly name = 'ClientRefused';

  /** @param member what of a new client is refused */
  constructor(
    message: string,
    readonly member?: 'partners',
  ) {
    super(message);
  }
}
