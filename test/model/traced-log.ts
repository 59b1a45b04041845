import { Log, type LogFields } from '@relay/telemetry';

/** What a worker says, in the trace of a history. */
export class TracedLog extends Log {
  constructor(private readonly trace: (line: string) => void) {
    super();
  }
  error(event: string, _message: string, fields?: LogFields): void {
    this.#say(event, fields);
  }
  warn(event: string, _message: string, fields?: LogFields): void {
    this.#say(event, fields);
  }
  info(event: string, _message: string, fields?: LogFields): void {
    this.#say(event, fields);
  }
  debug(event: string, _message: string, fields?: LogFields): void {
    this.#say(event, fields);
  }
  #say(event: string, fields: LogFields = {}): void {
    this.trace(`  says ${event} ${JSON.stringify(fields)}`);
  }
}
