import { Inject, Injectable } from '@nestjs/common';
import { Publisher } from '@relay/publishing';
import { Health } from '@relay/telemetry';
import { FATAL } from '../platform/tokens.js';
import { KafkaLogStrategy } from './kafka-log.strategy.js';

const LOOK_MS = 1_000;

/** Makes liveness fail when the consumer silently stops, and ends the process if nothing restarts it. */
@Injectable()
export class ConsumerWatch {
  constructor(
    private readonly strategy: KafkaLogStrategy,
    private readonly health: Health,
    @Inject(Publisher) private readonly publisher: Pick<Publisher, 'state'>,
    @Inject(FATAL) private readonly fatal: (reason: string) => void,
  ) {}

  /** Called once the consumer has started: until then it may rightly get no answer. */
  start(): void {
    const { watch } = this.strategy;
    this.health.live('consumer', () => watch.fault);
    setInterval(() => {
      watch.look(performance.now(), this.publisher.state === 'connected');
      if (watch.isHopeless) this.fatal(watch.fault ?? '');
    }, LOOK_MS).unref();
  }
}
