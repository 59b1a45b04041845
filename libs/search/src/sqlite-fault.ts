/** Codes of SQLite for a file that is damaged, or is no database. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** What SQLite refused. */
export class SqliteFault extends Error {
  constructor(
    message: string,
    /** Of SQLite, extended; 0 for another fault. */
    private readonly code: number,
  ) {
    super(message);
    this.name = 'SqliteFault';
  }

  /** Whether only a new file helps. */
  get isDamage(): boolean {
    return DAMAGED.has(this.code & 0xff);
  }
}
