-- Hints on one channel of the namespace; each topic once a script.
local published = {}
local function publish(channel, topic)
  if not published[topic] then
    published[topic] = true
    redis.call('PUBLISH', channel, topic)
  end
end
