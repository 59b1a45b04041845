/** A change was not confirmed, or the view in Redis may be out of date; another try may succeed. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';

  /** @param mayBeStored whether the change may still take effect */
  constructor(
    message: string,
    readonly mayBeStored: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}
