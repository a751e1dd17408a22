-- Takes an attempt out of everything that would wake or offer it: ready, delayed and parked entry, timer, permit.
-- Leaves the claim side as it is; a closed one has nothing left to take out.
local function end_attempt(P, channel, home, id, seq, a, c)
  local member = id .. '-' .. seq
  if c and c.closed == 1 then
    return
  end
  if a.q and a.q ~= '' and not (c and c.held == 1) then
    local lane = a.q .. ':' .. a.sh
    if redis.call('ZREM', P .. 'queue:' .. lane, member) == 0 then
      redis.call('ZREM', P .. 'delayed:' .. lane, member)
      redis.call('SREM', P .. 'park:' .. id, seq)
    end
  end
  if c then
    if c.at > 0 then
      redis.call('ZREM', P .. 'timers:' .. home, 'a:' .. member)
    end
    if c.permit == 1 then
      redis.call('ZREM', P .. 'limit:' .. a.def, member)
      publish(channel, 'q:' .. a.q)
    end
  end
end
