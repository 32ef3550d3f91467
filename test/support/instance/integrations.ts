import { beforeAll, expect } from 'vitest';
import type { Gatehouse } from './launch.ts';

export const INTEGRATION = { name: 'Gate logs', shortName: 'gate', integrationType: 'API' };

export function useIntegrations(gatehouse: Gatehouse) {
  let token: string;
  beforeAll(async () => {
    token = await gatehouse.logIn('user');
  });

  function requestsOn(path: string) {
    const requests = {
      post: (body: unknown) => gatehouse.call('POST', path, { token, body }),
      put: (body: unknown) => gatehouse.call('PUT', path, { token, body }),
      remove: (id: number | string) => gatehouse.call('DELETE', `${path}/${id}`, { token }),
      get: (id: number | string) => gatehouse.call('GET', `${path}/${id}`, { token }),
      list: (query = '') => gatehouse.call('GET', `${path}${query}`, { token }),
      total: async () => Number((await requests.list('?size=1')).headers['x-total-count']),
      async make(body: object) {
        const { status, text, body: created } = await requests.post(body);
        expect(status, text).toBe(201);
        return created;
      },
    };
    return requests;
  }
  return {
    integrations: requestsOn('/api/utm-integrations'),
    parameters: requestsOn('/api/utm-integration-confs'),
  };
}
