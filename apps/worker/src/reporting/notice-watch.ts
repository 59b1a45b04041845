import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Notices } from '@relay/notices';

const LOOK_MS = 1_000;

/**
 * Publishes the notices that are left over: of webhooks that were parked, of processes that were killed, and of a time without
 * Kafka.
 */
@Injectable()
export class NoticeWatch implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(@Inject(Notices) private readonly notices: Pick<Notices, 'publish'>) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.notices.publish(true), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }
}
