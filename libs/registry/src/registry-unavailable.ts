/** A change was not confirmed, or what Redis shows may be out of date; another try may succeed. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';

  /** @param mayBeStored whether the change may take effect all the same */
  constructor(
    message: string,
    readonly mayBeStored: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}
