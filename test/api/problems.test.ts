import { describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();

const tokens = useAdminAndAnalyst(gatehouse);
describe('a problem', () => {
  const problemType = (name: string) => `https://www.jhipster.tech/problem/${name}`;

  it.each([
    [
      '/api/users',
      { email: 'x@y@z' },
      'user',
      [
        ['login', 'NotNull', {}],
        ['email', 'Email', {}],
      ],
    ],
    [
      '/api/utm-integration-confs',
      { confName: 'x', confValue: '', integration: {} },
      'utmIntegrationConf',
      [
        ['integration.id', 'NotNull', {}],
        ['confValue', 'NotBlank', { min: 1, max: 16_384, unit: 'bytes' }],
      ],
    ],
    [
      '/api/utm-integrations',
      { ...INTEGRATION, integrationType: 'SINK', shortName: 's'.repeat(256) },
      'utmIntegration',
      [
        [
          'integrationType',
          'Pattern',
          { allowed: ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'] },
        ],
        ['shortName', 'Size', { min: 1, max: 255 }],
      ],
    ],
  ])(
    'for invalid fields sent to %s names each field and its limits',
    async (path, sent, objectName, wrong) => {
      const { status, body, headers } = await gatehouse.call('POST', path, {
        token: tokens.admin,
        body: sent,
      });

      expect(status).toBe(400);
      expect(body).toEqual({
        type: problemType('constraint-violation'),
        title: 'Method argument not valid',
        status: 400,
        path,
        message: 'error.validation',
        params: expect.any(String),
        fieldErrors: expect.any(Array),
      });
      const expected = wrong.map(([field, message, limits]) => ({
        objectName,
        field,
        message,
        ...(limits as object),
      }));
      expect(body.fieldErrors).toHaveLength(expected.length);
      expect(body.fieldErrors).toEqual(expect.arrayContaining(expected));
      expect(headers).not.toHaveProperty('x-gatehouseapp-error');
    },
  );
});
