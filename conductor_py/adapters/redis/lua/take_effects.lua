-- PURPOSE    Take effects for delivery that have been due for so long; each is due again after the lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, limit, lease in ms, for how long they have been due, in ms
-- RETURNS    {id, '<stamp> <document>', …}
-- INVARIANT  Nothing leaves the outbox here. What is no JSON is put aside; what lacks a member is by whoever carries it
--            out, and is listed until that is done. Effects that were ordered with a long head
--            start (due more than a minute before) are late when they are taken a second after that.
-- BOUND      The limit.
-- @include room
-- @include time
-- @include damage
-- @include late
-- @include text
-- What executions stand still for has more of a head start than that (engine/precedence.py).
local LONG_START = 61000
local P, now = KEYS[1], store_now(ARGV[1])
goes_on(P)
local upto = int(now - tonumber(ARGV[4]))
local due = redis.call('ZRANGE', P .. 'outbox', '-inf', upto, 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local out, noted = {}, redis.call('EXISTS', P .. 'damaged') == 1
local wanted = now
for n = 1, #due, 2 do
  local id = due[n]
  local text = redis.call('HGET', P .. 'effects', id)
  local stamp, document = string.match(text or '', '^(%d+) (.+)$')
  if text and not (document and #stamp <= 16 and is_text(id) and is_text(document) and pcall(cjson.decode, document)) then
    put_aside(P, 'outbox', id, 'the stored effect cannot be read', now)
  elseif text then
    if tonumber(due[n + 1]) < tonumber(stamp) - LONG_START then
      wanted = math.min(wanted, tonumber(stamp))
    end
    redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[3])), id)
    out[#out + 1] = id
    out[#out + 1] = text
  else
    redis.call('ZREM', P .. 'outbox', id)
    forget_damage(P, 'outbox', id, noted)
  end
end
note_late(P, '~effects', wanted, now)
return out
