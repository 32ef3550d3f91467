import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { entityKey } from '../../lib/table/keys.ts';
import { changeTotal, claim } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/* Lambda freezes work that outlives the response and resumes it during the next request. */

const gatehouse = await useGatehouse({ breaksData: true });

it('no read of a long list outlives the rejection of its caller', async () => {
  const { user, token } = await gatehouse.makeCaller('former', { authorities: ['ROLE_USER'] });
  const value = Buffer.alloc(300_000);
  for (let id = 1; id <= 20; id++) {
    const parameter = claim(
      entityKey('CONF', id),
      { id, confName: 'long', confValue: value, version: '1-a' },
      'unexpected',
    );
    await gatehouse.table.transact([parameter, changeTotal('CONF', 1)], randomUUID());
  }
  const admin = await gatehouse.adminToken();
  await gatehouse.call('PUT', '/api/users', { token: admin, body: { ...user, activated: false } });

  const paths = [
    '/api/utm-integration-confs?confName.equals=long',
    '/api/utm-integration-confs/count?confName.equals=x',
  ];
  for (const path of paths) {
    expect((await gatehouse.call('GET', path, { token })).status).toBe(401);
    await wait(100);
  }

  expect(gatehouse.cloud.lateCalls).toEqual([]);
});
