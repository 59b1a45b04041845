import type { Admin, Kafka } from 'kafkajs';

/** Runs `work` with an admin connection and ends it. Rejects when no broker answers. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
